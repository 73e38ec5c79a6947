# SPDX-License-Identifier: BSD-3-Clause
from waitio._core import ANY_SOURCE as ANY_SOURCE
from waitio._core import ANY_TAG as ANY_TAG
from waitio._core import BAND as BAND
from waitio._core import BOOL as BOOL
from waitio._core import BOR as BOR
from waitio._core import BXOR as BXOR
from waitio._core import BYTE as BYTE
from waitio._core import CHAR as CHAR
from waitio._core import COMM_TYPE_PB as COMM_TYPE_PB
from waitio._core import COMM_TYPE_SHARED as COMM_TYPE_SHARED
from waitio._core import COMPLEX as COMPLEX
from waitio._core import DOUBLE as DOUBLE
from waitio._core import DOUBLE_COMPLEX as DOUBLE_COMPLEX
from waitio._core import DOUBLE_INT as DOUBLE_INT
from waitio._core import FLOAT as FLOAT
from waitio._core import FLOAT_INT as FLOAT_INT
from waitio._core import IN_PLACE as IN_PLACE
from waitio._core import INT as INT
from waitio._core import INT8_T as INT8_T
from waitio._core import INT16_T as INT16_T
from waitio._core import INT32_T as INT32_T
from waitio._core import INT64_T as INT64_T
from waitio._core import LAND as LAND
from waitio._core import LONG as LONG
from waitio._core import LONG_DOUBLE as LONG_DOUBLE
from waitio._core import LONG_INT as LONG_INT
from waitio._core import LOR as LOR
from waitio._core import LXOR as LXOR
from waitio._core import MAX as MAX
from waitio._core import MAXLOC as MAXLOC
from waitio._core import MIN as MIN
from waitio._core import MINLOC as MINLOC
from waitio._core import ORDER_C as ORDER_C
from waitio._core import ORDER_FORTRAN as ORDER_FORTRAN
from waitio._core import PROD as PROD
from waitio._core import SHORT as SHORT
from waitio._core import SUM as SUM
from waitio._core import TWOINT as TWOINT
from waitio._core import UINT8_T as UINT8_T
from waitio._core import UINT16_T as UINT16_T
from waitio._core import UINT32_T as UINT32_T
from waitio._core import UINT64_T as UINT64_T
from waitio._core import Collectives as Collectives
from waitio._core import Datatype as Datatype
from waitio._core import Group as Group
from waitio._core import MatchedMessage as MatchedMessage
from waitio._core import Op as Op
from waitio._core import Request as Request
from waitio._core import Status as Status
from waitio._core import Wtick as Wtick
from waitio._core import Wtime as Wtime
from waitio._core import abort as abort
from waitio._core import allow_pickle as allow_pickle
from waitio._core import counter as counter
from waitio._core import counters as counters
from waitio._core import finalize as finalize
from waitio._core import init as init
from waitio._core import initialized as initialized
from waitio._core import library_version as library_version
from waitio._core import phase as phase
from waitio._core import rejoin as rejoin
from waitio._core import resume_from as resume_from
from waitio._core import resume_mark as resume_mark
from waitio._core import startall as startall
from waitio._core import testall as testall
from waitio._core import testany as testany
from waitio._core import testsome as testsome
from waitio._core import waitall as waitall
from waitio._core import waitany as waitany
from waitio._core import waitsome as waitsome
from waitio.exceptions import ArgumentError as ArgumentError
from waitio.exceptions import AuthError as AuthError
from waitio.exceptions import BufferError as BufferError
from waitio.exceptions import BusyError as BusyError
from waitio.exceptions import CancelledError as CancelledError
from waitio.exceptions import ConfigError as ConfigError
from waitio.exceptions import Error as Error
from waitio.exceptions import ForkError as ForkError
from waitio.exceptions import GroupError as GroupError
from waitio.exceptions import JoinError as JoinError
from waitio.exceptions import LimitError as LimitError
from waitio.exceptions import NoMemoryError as NoMemoryError
from waitio.exceptions import Peer as Peer
from waitio.exceptions import PeerError as PeerError
from waitio.exceptions import PickleError as PickleError
from waitio.exceptions import ProtocolError as ProtocolError
from waitio.exceptions import RankError as RankError
from waitio.exceptions import RequestError as RequestError
from waitio.exceptions import RevokedError as RevokedError
from waitio.exceptions import RouteError as RouteError
from waitio.exceptions import StateError as StateError
from waitio.exceptions import SystemError as SystemError
from waitio.exceptions import TagError as TagError
from waitio.exceptions import TimeoutError as TimeoutError
from waitio.exceptions import TruncateError as TruncateError
from waitio.exceptions import UnsupportedError as UnsupportedError
from waitio.exceptions import VersionError as VersionError
from waitio.objects import ObjectRequest as ObjectRequest
from waitio.stream import Message as Message
from waitio.universe import Universe as Universe

__version__: str
__all__: list[str]

ERR_ARG: int
ERR_NOMEM: int
ERR_GROUP: int
ERR_RANK: int
ERR_TAG: int
ERR_REQUEST: int
ERR_TRUNCATE: int
ERR_PEER: int
ERR_TIMEOUT: int
ERR_CONFIG: int
ERR_JOIN: int
ERR_AUTH: int
ERR_VERSION: int
ERR_NOROUTE: int
ERR_LIMIT: int
ERR_STATE: int
ERR_FORK: int
ERR_SYSTEM: int
ERR_UNSUPPORTED: int
ERR_CANCELLED: int
ERR_PROTOCOL: int
ERR_BUSY: int
ERR_REVOKED: int
