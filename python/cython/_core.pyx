# SPDX-License-Identifier: BSD-3-Clause
# cython: language_level=3, embedsignature=True, embedsignature.format=clinic
# cython: freethreading_compatible=True
# cython: binding=False, boundscheck=False, wraparound=False, initializedcheck=False
"""Bindings of the C interface: joining, groups, buffers, requests.

Every call that may block releases the interpreter's lock. The extension needs no such lock: what
threads share is in guard.h, under join_lock, or atomic.
"""

include "capi.pxi"

cimport cython

import builtins as _builtins
import functools
import operator
import os
import sys
import threading
import time
import weakref

import waitio

from waitio.exceptions import (
    BufferError as _BufferError,
    Error as _Error,
    Peer as _Peer,
    TimeoutError as _TimeoutError,
    from_code,
)

ANY_SOURCE = WAITIO_ANY_SOURCE
ANY_TAG = WAITIO_ANY_TAG

join_lock = threading.Lock()

include "state.pxi"
include "cuda.pxi"
include "staging.pxi"
include "device.pxi"
include "buffers.pxi"
include "datatypes.pxi"
include "derived.pxi"
include "userops.pxi"
include "orphans.pxi"
include "request.pxi"
include "blocks.pxi"
include "collectives.pxi"
include "matched.pxi"
include "group.pxi"
include "coupler.pxi"
include "stage.pxi"
