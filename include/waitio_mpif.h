! SPDX-License-Identifier: BSD-3-Clause
! WaitIO, Fortran include file: constants of the conversion library, and
! interfaces of the procedures whose names end in _f. The names without
! _f are external procedures and have no interface on purpose: programs
! pass buffers of any type to them.
!
! Legal in fixed and free source form: nothing stands in column 6, no
! line is continued or longer than 72 columns. Every name is declared,
! so any IMPLICIT of the including program may hold.
!
! The numbers are those of waitio_mpi.h; a test compares them.

! Default integers in a status and in a request.
      integer, parameter :: WAITIO_STATUS_SIZE=4
      integer, parameter :: WAITIO_REQUEST_SIZE=22

! Places in a status: source, tag, error code, bytes received.
      integer, parameter :: WAITIO_MPI_SOURCE=1
      integer, parameter :: WAITIO_MPI_TAG=2
      integer, parameter :: WAITIO_MPI_ERROR=3
      integer, parameter :: WAITIO_MPI_BYTES=4

! All processes of all blocks.
      integer, parameter :: WAITIO_MPI_COMM_WORLD=524289
      integer, parameter :: WAITIO_MPI_COMM_SELF=524290
      integer, parameter :: WAITIO_MPI_GROUP_EMPTY=524291
      integer, parameter :: WAITIO_MPI_COMM_NULL=0
      integer, parameter :: WAITIO_MPI_GROUP_NULL=0

      integer, parameter :: WAITIO_MPI_SUCCESS=0
      integer, parameter :: WAITIO_MPI_DEFTAG=524288
      integer, parameter :: WAITIO_MPI_ANY_SOURCE=-1001
      integer, parameter :: WAITIO_MPI_ANY_TAG=-1002
      integer, parameter :: WAITIO_MPI_UNDEFINED=-1003
      integer, parameter :: WAITIO_MPI_PROC_NULL=-1004
      integer, parameter :: WAITIO_MPI_ROOT=-1006

! These are places in memory: pass them as arguments, do not set them.
      integer :: WAITIO_MPI_IN_PLACE
      integer :: WAITIO_MPI_BOTTOM
      integer :: WAITIO_MPI_UNWEIGHTED(1)
      integer :: WAITIO_MPI_WEIGHTS_EMPTY(1)
      integer :: WAITIO_MPI_STATUS_IGNORE(WAITIO_STATUS_SIZE)
      integer :: WAITIO_MPI_STATUSES_IGNORE(WAITIO_STATUS_SIZE,1)
      common /waitio_mpi_in_place/ WAITIO_MPI_IN_PLACE
      common /waitio_mpi_bottom/ WAITIO_MPI_BOTTOM
      common /waitio_mpi_unweighted/ WAITIO_MPI_UNWEIGHTED
      common /waitio_mpi_weights_empty/ WAITIO_MPI_WEIGHTS_EMPTY
      common /waitio_mpi_status_ignore/ WAITIO_MPI_STATUS_IGNORE
      common /waitio_mpi_statuses_ignore/ WAITIO_MPI_STATUSES_IGNORE

! Comparing, array orders, ways to split, thread levels.
      integer, parameter :: WAITIO_MPI_IDENT=0
      integer, parameter :: WAITIO_MPI_CONGRUENT=1
      integer, parameter :: WAITIO_MPI_SIMILAR=2
      integer, parameter :: WAITIO_MPI_UNEQUAL=3
      integer, parameter :: WAITIO_MPI_ORDER_C=56
      integer, parameter :: WAITIO_MPI_ORDER_FORTRAN=57
      integer, parameter :: WAITIO_MPI_COMM_TYPE_SHARED=1
      integer, parameter :: WAITIO_MPI_COMM_TYPE_PB=2
      integer, parameter :: WAITIO_MPI_CART=1
      integer, parameter :: WAITIO_MPI_GRAPH=2
      integer, parameter :: WAITIO_MPI_DIST_GRAPH=3
      integer, parameter :: WAITIO_MPI_THREAD_SINGLE=0
      integer, parameter :: WAITIO_MPI_THREAD_FUNNELED=1
      integer, parameter :: WAITIO_MPI_THREAD_SERIALIZED=2
      integer, parameter :: WAITIO_MPI_THREAD_MULTIPLE=3
      integer, parameter :: WAITIO_MPI_VERSION=3
      integer, parameter :: WAITIO_MPI_SUBVERSION=1
      integer, parameter :: WAITIO_MPI_REQUEST_NULL=0
      integer, parameter :: WAITIO_MPI_INFO_NULL=0
      integer, parameter :: WAITIO_MPI_INFO_ENV=1
      integer, parameter :: WAITIO_MPI_ERRORS_ARE_FATAL=1
      integer, parameter :: WAITIO_MPI_ERRORS_RETURN=2
      integer, parameter :: WAITIO_MPI_ERRHANDLER_NULL=0
      integer, parameter :: WAITIO_MPI_INTEGER_KIND=4
      integer, parameter :: WAITIO_MPI_ADDRESS_KIND=8
      integer, parameter :: WAITIO_MPI_OFFSET_KIND=8
      integer, parameter :: WAITIO_MPI_MAX_PROCESSOR_NAME=256
      integer, parameter :: WAITIO_MPI_MAX_ERROR_STRING=1024
      integer, parameter :: WAITIO_MPI_MAX_OBJECT_NAME=128
      integer, parameter :: WAITIO_MPI_MAX_LIBRARY_VERSION_STRING=256
      integer, parameter :: WAITIO_MPI_MAX_INFO_KEY=256
      integer, parameter :: WAITIO_MPI_MAX_INFO_VAL=1024
      integer, parameter :: WAITIO_MPI_COUNT_KIND=8
      integer, parameter :: WAITIO_MPI_DISTRIBUTE_BLOCK=1
      integer, parameter :: WAITIO_MPI_DISTRIBUTE_CYCLIC=2
      integer, parameter :: WAITIO_MPI_DISTRIBUTE_NONE=3
      integer, parameter :: WAITIO_MPI_DISTRIBUTE_DFLT_DARG=-1005
      integer, parameter :: WAITIO_MPI_COMBINER_NAMED=1
      integer, parameter :: WAITIO_MPI_COMBINER_DUP=2
      integer, parameter :: WAITIO_MPI_COMBINER_CONTIGUOUS=3
      integer, parameter :: WAITIO_MPI_COMBINER_VECTOR=4
      integer, parameter :: WAITIO_MPI_COMBINER_HVECTOR=5
      integer, parameter :: WAITIO_MPI_COMBINER_INDEXED=6
      integer, parameter :: WAITIO_MPI_COMBINER_HINDEXED=7
      integer, parameter :: WAITIO_MPI_COMBINER_INDEXED_BLOCK=8
      integer, parameter :: WAITIO_MPI_COMBINER_HINDEXED_BLOCK=9
      integer, parameter :: WAITIO_MPI_COMBINER_STRUCT=10
      integer, parameter :: WAITIO_MPI_COMBINER_SUBARRAY=11
      integer, parameter :: WAITIO_MPI_COMBINER_DARRAY=12
      integer, parameter :: WAITIO_MPI_COMBINER_F90_REAL=13
      integer, parameter :: WAITIO_MPI_COMBINER_F90_COMPLEX=14
      integer, parameter :: WAITIO_MPI_COMBINER_F90_INTEGER=15
      integer, parameter :: WAITIO_MPI_COMBINER_RESIZED=16
      integer, parameter :: WAITIO_MPI_COMBINER_HVECTOR_INTEGER=17
      integer, parameter :: WAITIO_MPI_COMBINER_HINDEXED_INTEGER=18
      integer, parameter :: WAITIO_MPI_COMBINER_STRUCT_INTEGER=19
      integer, parameter :: WAITIO_MPI_TYPECLASS_INTEGER=1
      integer, parameter :: WAITIO_MPI_TYPECLASS_REAL=2
      integer, parameter :: WAITIO_MPI_TYPECLASS_COMPLEX=3
      integer, parameter :: WAITIO_MPI_MESSAGE_NULL=0
      integer, parameter :: WAITIO_MPI_MESSAGE_NO_PROC=1
      integer, parameter :: WAITIO_MPI_BSEND_OVERHEAD=0

! Attributes that every communicator has.
      integer, parameter :: WAITIO_MPI_KEYVAL_INVALID=0
      integer, parameter :: WAITIO_MPI_TAG_UB=1
      integer, parameter :: WAITIO_MPI_HOST=2
      integer, parameter :: WAITIO_MPI_IO=3
      integer, parameter :: WAITIO_MPI_WTIME_IS_GLOBAL=4
      integer, parameter :: WAITIO_MPI_UNIVERSE_SIZE=5
      integer, parameter :: WAITIO_MPI_APPNUM=6
      integer, parameter :: WAITIO_MPI_LASTUSEDCODE=7

! Classes of errors that programs ask for.
      integer, parameter :: WAITIO_MPI_ERR_ARG=-1
      integer, parameter :: WAITIO_MPI_ERR_TAG=-5
      integer, parameter :: WAITIO_MPI_ERR_COMM=-3
      integer, parameter :: WAITIO_MPI_ERR_RANK=-4
      integer, parameter :: WAITIO_MPI_ERR_REQUEST=-6
      integer, parameter :: WAITIO_MPI_ERR_TRUNCATE=-7
      integer, parameter :: WAITIO_MPI_ERR_NO_MEM=-2
      integer, parameter :: WAITIO_MPI_ERR_PROC_ABORTED=-8
      integer, parameter :: WAITIO_MPI_ERR_INTERN=-21
      integer, parameter :: WAITIO_MPI_ERR_OTHER=-18
      integer, parameter :: WAITIO_MPI_ERR_BUFFER=-101
      integer, parameter :: WAITIO_MPI_ERR_COUNT=-102
      integer, parameter :: WAITIO_MPI_ERR_TYPE=-103
      integer, parameter :: WAITIO_MPI_ERR_OP=-104
      integer, parameter :: WAITIO_MPI_ERR_ROOT=-105
      integer, parameter :: WAITIO_MPI_ERR_GROUP=-106
      integer, parameter :: WAITIO_MPI_ERR_KEYVAL=-107
      integer, parameter :: WAITIO_MPI_ERR_TOPOLOGY=-108
      integer, parameter :: WAITIO_MPI_ERR_DIMS=-109
      integer, parameter :: WAITIO_MPI_ERR_UNKNOWN=-110
      integer, parameter :: WAITIO_MPI_ERR_PENDING=-111
      integer, parameter :: WAITIO_MPI_ERR_IN_STATUS=-112
      integer, parameter :: WAITIO_MPI_ERR_ACCESS=-113
      integer, parameter :: WAITIO_MPI_ERR_AMODE=-114
      integer, parameter :: WAITIO_MPI_ERR_ASSERT=-115
      integer, parameter :: WAITIO_MPI_ERR_BAD_FILE=-116
      integer, parameter :: WAITIO_MPI_ERR_BASE=-117
      integer, parameter :: WAITIO_MPI_ERR_CONVERSION=-118
      integer, parameter :: WAITIO_MPI_ERR_DISP=-119
      integer, parameter :: WAITIO_MPI_ERR_DUP_DATAREP=-120
      integer, parameter :: WAITIO_MPI_ERR_FILE=-121
      integer, parameter :: WAITIO_MPI_ERR_FILE_EXISTS=-122
      integer, parameter :: WAITIO_MPI_ERR_FILE_IN_USE=-123
      integer, parameter :: WAITIO_MPI_ERR_INFO=-124
      integer, parameter :: WAITIO_MPI_ERR_INFO_KEY=-125
      integer, parameter :: WAITIO_MPI_ERR_INFO_NOKEY=-126
      integer, parameter :: WAITIO_MPI_ERR_INFO_VALUE=-127
      integer, parameter :: WAITIO_MPI_ERR_IO=-128
      integer, parameter :: WAITIO_MPI_ERR_LOCKTYPE=-129
      integer, parameter :: WAITIO_MPI_ERR_NAME=-130
      integer, parameter :: WAITIO_MPI_ERR_NOT_SAME=-131
      integer, parameter :: WAITIO_MPI_ERR_NO_SPACE=-132
      integer, parameter :: WAITIO_MPI_ERR_NO_SUCH_FILE=-133
      integer, parameter :: WAITIO_MPI_ERR_PORT=-134
      integer, parameter :: WAITIO_MPI_ERR_QUOTA=-135
      integer, parameter :: WAITIO_MPI_ERR_READ_ONLY=-136
      integer, parameter :: WAITIO_MPI_ERR_RMA_ATTACH=-137
      integer, parameter :: WAITIO_MPI_ERR_RMA_CONFLICT=-138
      integer, parameter :: WAITIO_MPI_ERR_RMA_FLAVOR=-139
      integer, parameter :: WAITIO_MPI_ERR_RMA_RANGE=-140
      integer, parameter :: WAITIO_MPI_ERR_RMA_SHARED=-141
      integer, parameter :: WAITIO_MPI_ERR_RMA_SYNC=-142
      integer, parameter :: WAITIO_MPI_ERR_SERVICE=-143
      integer, parameter :: WAITIO_MPI_ERR_SESSION=-144
      integer, parameter :: WAITIO_MPI_ERR_SIZE=-145
      integer, parameter :: WAITIO_MPI_ERR_SPAWN=-146
      integer, parameter :: WAITIO_MPI_ERR_UNSUPPORTED_DATAREP=-147
      integer, parameter :: WAITIO_MPI_ERR_UNSUPPORTED_OPERATION=-148
      integer, parameter :: WAITIO_MPI_ERR_VALUE_TOO_LARGE=-149
      integer, parameter :: WAITIO_MPI_ERR_WIN=-150
      integer, parameter :: WAITIO_MPI_ERR_LASTCODE=16383

! Types.
      integer, parameter :: WAITIO_MPI_INT=524289
      integer, parameter :: WAITIO_MPI_INTEGER=524289
      integer, parameter :: WAITIO_MPI_LONG=524290
      integer, parameter :: WAITIO_MPI_CHAR=524291
      integer, parameter :: WAITIO_MPI_FLOAT=524292
      integer, parameter :: WAITIO_MPI_DOUBLE=524293
      integer, parameter :: WAITIO_MPI_DOUBLE_PRECISION=524293
      integer, parameter :: WAITIO_MPI_BYTE=524294
      integer, parameter :: WAITIO_MPI_SIGNED_CHAR=524295
      integer, parameter :: WAITIO_MPI_UNSIGNED_CHAR=524296
      integer, parameter :: WAITIO_MPI_SHORT=524297
      integer, parameter :: WAITIO_MPI_UNSIGNED_SHORT=524298
      integer, parameter :: WAITIO_MPI_UNSIGNED=524299
      integer, parameter :: WAITIO_MPI_UNSIGNED_LONG=524300
      integer, parameter :: WAITIO_MPI_LONG_LONG=524301
      integer, parameter :: WAITIO_MPI_LONG_LONG_INT=524301
      integer, parameter :: WAITIO_MPI_UNSIGNED_LONG_LONG=524302
      integer, parameter :: WAITIO_MPI_INT8_T=524303
      integer, parameter :: WAITIO_MPI_UINT8_T=524304
      integer, parameter :: WAITIO_MPI_INT16_T=524305
      integer, parameter :: WAITIO_MPI_UINT16_T=524306
      integer, parameter :: WAITIO_MPI_INT32_T=524307
      integer, parameter :: WAITIO_MPI_UINT32_T=524308
      integer, parameter :: WAITIO_MPI_INT64_T=524309
      integer, parameter :: WAITIO_MPI_UINT64_T=524310
      integer, parameter :: WAITIO_MPI_C_BOOL=524311
      integer, parameter :: WAITIO_MPI_C_FLOAT_COMPLEX=524312
      integer, parameter :: WAITIO_MPI_C_COMPLEX=524312
      integer, parameter :: WAITIO_MPI_C_DOUBLE_COMPLEX=524313
      integer, parameter :: WAITIO_MPI_REAL=524314
      integer, parameter :: WAITIO_MPI_LOGICAL=524315
      integer, parameter :: WAITIO_MPI_CHARACTER=524316
      integer, parameter :: WAITIO_MPI_COMPLEX=524317
      integer, parameter :: WAITIO_MPI_DOUBLE_COMPLEX=524318
      integer, parameter :: WAITIO_MPI_INTEGER1=524319
      integer, parameter :: WAITIO_MPI_INTEGER2=524320
      integer, parameter :: WAITIO_MPI_INTEGER4=524321
      integer, parameter :: WAITIO_MPI_INTEGER8=524322
      integer, parameter :: WAITIO_MPI_REAL4=524323
      integer, parameter :: WAITIO_MPI_REAL8=524324
      integer, parameter :: WAITIO_MPI_LONG_DOUBLE=524325
      integer, parameter :: WAITIO_MPI_WCHAR=524326
      integer, parameter :: WAITIO_MPI_AINT=524327
      integer, parameter :: WAITIO_MPI_OFFSET=524328
      integer, parameter :: WAITIO_MPI_COUNT=524329
      integer, parameter :: WAITIO_MPI_C_LONG_DOUBLE_COMPLEX=524330
      integer, parameter :: WAITIO_MPI_LOGICAL1=524331
      integer, parameter :: WAITIO_MPI_LOGICAL2=524332
      integer, parameter :: WAITIO_MPI_LOGICAL4=524333
      integer, parameter :: WAITIO_MPI_LOGICAL8=524334
      integer, parameter :: WAITIO_MPI_REAL16=524335
      integer, parameter :: WAITIO_MPI_COMPLEX8=524336
      integer, parameter :: WAITIO_MPI_COMPLEX16=524337
      integer, parameter :: WAITIO_MPI_COMPLEX32=524338
      integer, parameter :: WAITIO_MPI_PACKED=524339
      integer, parameter :: WAITIO_MPI_FLOAT_INT=524340
      integer, parameter :: WAITIO_MPI_DOUBLE_INT=524341
      integer, parameter :: WAITIO_MPI_LONG_INT=524342
      integer, parameter :: WAITIO_MPI_2INT=524343
      integer, parameter :: WAITIO_MPI_SHORT_INT=524344
      integer, parameter :: WAITIO_MPI_LONG_DOUBLE_INT=524345
      integer, parameter :: WAITIO_MPI_2REAL=524346
      integer, parameter :: WAITIO_MPI_2DOUBLE_PRECISION=524347
      integer, parameter :: WAITIO_MPI_2INTEGER=524348
      integer, parameter :: WAITIO_MPI_LB=524349
      integer, parameter :: WAITIO_MPI_UB=524350
      integer, parameter :: WAITIO_MPI_CXX_BOOL=524353
      integer, parameter :: WAITIO_MPI_CXX_FLOAT_COMPLEX=524354
      integer, parameter :: WAITIO_MPI_CXX_COMPLEX=524354
      integer, parameter :: WAITIO_MPI_CXX_DOUBLE_COMPLEX=524355
      integer, parameter :: WAITIO_MPI_CXX_LONG_DOUBLE_COMPLEX=524356
      integer, parameter :: WAITIO_MPI_DATATYPE_NULL=0

! Operators.
      integer, parameter :: WAITIO_MPI_SUM=524289
      integer, parameter :: WAITIO_MPI_MAX=524290
      integer, parameter :: WAITIO_MPI_MIN=524291
      integer, parameter :: WAITIO_MPI_PROD=524292
      integer, parameter :: WAITIO_MPI_LAND=524293
      integer, parameter :: WAITIO_MPI_BAND=524294
      integer, parameter :: WAITIO_MPI_LOR=524295
      integer, parameter :: WAITIO_MPI_BOR=524296
      integer, parameter :: WAITIO_MPI_LXOR=524297
      integer, parameter :: WAITIO_MPI_BXOR=524298
      integer, parameter :: WAITIO_MPI_MINLOC=524299
      integer, parameter :: WAITIO_MPI_MAXLOC=524300
      integer, parameter :: WAITIO_MPI_OP_NULL=0

      interface
      subroutine waitio_mpi_isend_f(bu,ct,ty,de,tg,co,rq,ie)
      implicit none
      type(*) :: ty,co,rq
      type(*), dimension(*) :: bu
      integer :: ct,de,tg
      integer, optional :: ie
!GCC$ ATTRIBUTES NO_ARG_CHECK :: bu,ty,co,rq
!DEC$ ATTRIBUTES NO_ARG_CHECK :: bu,ty,co,rq
!DIR$ IGNORE_TKR bu,ty,co,rq
!NVF$ IGNORE_TKR bu,ty,co,rq
      end subroutine waitio_mpi_isend_f
      subroutine waitio_mpi_irecv_f(bu,ct,ty,sr,tg,co,rq,ie)
      implicit none
      type(*) :: ty,co,rq
      type(*), dimension(*) :: bu
      integer :: ct,sr,tg
      integer, optional :: ie
!GCC$ ATTRIBUTES NO_ARG_CHECK :: bu,ty,co,rq
!DEC$ ATTRIBUTES NO_ARG_CHECK :: bu,ty,co,rq
!DIR$ IGNORE_TKR bu,ty,co,rq
!NVF$ IGNORE_TKR bu,ty,co,rq
      end subroutine waitio_mpi_irecv_f
      subroutine waitio_mpi_waitall_f(ct,rq,st,ie)
      implicit none
      type(*), dimension(*) :: rq,st
      integer :: ct
      integer, optional :: ie
!GCC$ ATTRIBUTES NO_ARG_CHECK :: rq,st
!DEC$ ATTRIBUTES NO_ARG_CHECK :: rq,st
!DIR$ IGNORE_TKR rq,st
!NVF$ IGNORE_TKR rq,st
      end subroutine waitio_mpi_waitall_f
      subroutine waitio_mpi_bcast_f(bu,ct,ty,ro,co,ie)
      implicit none
      type(*) :: ty,co
      type(*), dimension(*) :: bu
      integer :: ct,ro
      integer, optional :: ie
!GCC$ ATTRIBUTES NO_ARG_CHECK :: bu,ty,co
!DEC$ ATTRIBUTES NO_ARG_CHECK :: bu,ty,co
!DIR$ IGNORE_TKR bu,ty,co
!NVF$ IGNORE_TKR bu,ty,co
      end subroutine waitio_mpi_bcast_f
      subroutine waitio_mpi_reduce_f(sb,rb,ct,ty,op,ro,co,ie)
      implicit none
      type(*) :: ty,op,co
      type(*), dimension(*) :: sb,rb
      integer :: ct,ro
      integer, optional :: ie
!GCC$ ATTRIBUTES NO_ARG_CHECK :: sb,rb,ty,op,co
!DEC$ ATTRIBUTES NO_ARG_CHECK :: sb,rb,ty,op,co
!DIR$ IGNORE_TKR sb,rb,ty,op,co
!NVF$ IGNORE_TKR sb,rb,ty,op,co
      end subroutine waitio_mpi_reduce_f
      subroutine waitio_mpi_allreduce_f(sb,rb,ct,ty,op,co,ie)
      implicit none
      type(*) :: ty,op,co
      type(*), dimension(*) :: sb,rb
      integer :: ct
      integer, optional :: ie
!GCC$ ATTRIBUTES NO_ARG_CHECK :: sb,rb,ty,op,co
!DEC$ ATTRIBUTES NO_ARG_CHECK :: sb,rb,ty,op,co
!DIR$ IGNORE_TKR sb,rb,ty,op,co
!NVF$ IGNORE_TKR sb,rb,ty,op,co
      end subroutine waitio_mpi_allreduce_f
      subroutine waitio_mpi_gather_f(sb,rb,ct,ty,ro,co,ie)
      implicit none
      type(*) :: ty,co
      type(*), dimension(*) :: sb,rb
      integer :: ct,ro
      integer, optional :: ie
!GCC$ ATTRIBUTES NO_ARG_CHECK :: sb,rb,ty,co
!DEC$ ATTRIBUTES NO_ARG_CHECK :: sb,rb,ty,co
!DIR$ IGNORE_TKR sb,rb,ty,co
!NVF$ IGNORE_TKR sb,rb,ty,co
      end subroutine waitio_mpi_gather_f
      subroutine waitio_mpi_allgather_f(sb,rb,ct,ty,co,ie)
      implicit none
      type(*) :: ty,co
      type(*), dimension(*) :: sb,rb
      integer :: ct
      integer, optional :: ie
!GCC$ ATTRIBUTES NO_ARG_CHECK :: sb,rb,ty,co
!DEC$ ATTRIBUTES NO_ARG_CHECK :: sb,rb,ty,co
!DIR$ IGNORE_TKR sb,rb,ty,co
!NVF$ IGNORE_TKR sb,rb,ty,co
      end subroutine waitio_mpi_allgather_f
      subroutine waitio_mpi_scatter_f(sb,sc,st,rb,rc,rt,ro,co,ie)
      implicit none
      type(*) :: st,rt,co
      type(*), dimension(*) :: sb,sc,rb
      integer :: rc,ro
      integer, optional :: ie
!GCC$ ATTRIBUTES NO_ARG_CHECK :: sb,sc,rb,st,rt,co
!DEC$ ATTRIBUTES NO_ARG_CHECK :: sb,sc,rb,st,rt,co
!DIR$ IGNORE_TKR sb,sc,rb,st,rt,co
!NVF$ IGNORE_TKR sb,sc,rb,st,rt,co
      end subroutine waitio_mpi_scatter_f
      subroutine waitio_mpi_scatterv_f(sb,sc,ds,st,rb,rc,rt,ro,co,ie)
      implicit none
      type(*) :: st,rt,co
      type(*), dimension(*) :: sb,sc,ds,rb
      integer :: rc,ro
      integer, optional :: ie
!GCC$ ATTRIBUTES NO_ARG_CHECK :: sb,sc,ds,rb,st,rt,co
!DEC$ ATTRIBUTES NO_ARG_CHECK :: sb,sc,ds,rb,st,rt,co
!DIR$ IGNORE_TKR sb,sc,ds,rb,st,rt,co
!NVF$ IGNORE_TKR sb,sc,ds,rb,st,rt,co
      end subroutine waitio_mpi_scatterv_f
      subroutine waitio_mpi_gatherv_f(sb,sc,st,rb,rc,ds,rt,ro,co,ie)
      implicit none
      type(*) :: st,rt,co
      type(*), dimension(*) :: sb,rb,rc,ds
      integer :: sc,ro
      integer, optional :: ie
!GCC$ ATTRIBUTES NO_ARG_CHECK :: sb,rb,rc,ds,st,rt,co
!DEC$ ATTRIBUTES NO_ARG_CHECK :: sb,rb,rc,ds,st,rt,co
!DIR$ IGNORE_TKR sb,rb,rc,ds,st,rt,co
!NVF$ IGNORE_TKR sb,rb,rc,ds,st,rt,co
      end subroutine waitio_mpi_gatherv_f
      subroutine waitio_mpi_barrier_f(co,ie)
      implicit none
      type(*) :: co
      integer, optional :: ie
!GCC$ ATTRIBUTES NO_ARG_CHECK :: co
!DEC$ ATTRIBUTES NO_ARG_CHECK :: co
!DIR$ IGNORE_TKR co
!NVF$ IGNORE_TKR co
      end subroutine waitio_mpi_barrier_f
      subroutine waitio_barrier_f(co,ie)
      implicit none
      type(*) :: co
      integer, optional :: ie
!GCC$ ATTRIBUTES NO_ARG_CHECK :: co
!DEC$ ATTRIBUTES NO_ARG_CHECK :: co
!DIR$ IGNORE_TKR co
!NVF$ IGNORE_TKR co
      end subroutine waitio_barrier_f
      subroutine waitio_wait_f(rq,ie)
      implicit none
      type(*) :: rq
      integer, optional :: ie
!GCC$ ATTRIBUTES NO_ARG_CHECK :: rq
!DEC$ ATTRIBUTES NO_ARG_CHECK :: rq
!DIR$ IGNORE_TKR rq
!NVF$ IGNORE_TKR rq
      end subroutine waitio_wait_f
      subroutine waitio_finalize_f(ie)
      implicit none
      integer, optional :: ie
      end subroutine waitio_finalize_f
      subroutine waitio_create_pbgroup_f(co,pb,ie)
      implicit none
      type(*) :: co
      integer :: pb
      integer, optional :: ie
!GCC$ ATTRIBUTES NO_ARG_CHECK :: co
!DEC$ ATTRIBUTES NO_ARG_CHECK :: co
!DIR$ IGNORE_TKR co
!NVF$ IGNORE_TKR co
      end subroutine waitio_create_pbgroup_f
      subroutine waitio_group_rank_f(co,n,ie)
      implicit none
      type(*) :: co
      integer :: n
      integer, optional :: ie
!GCC$ ATTRIBUTES NO_ARG_CHECK :: co
!DEC$ ATTRIBUTES NO_ARG_CHECK :: co
!DIR$ IGNORE_TKR co
!NVF$ IGNORE_TKR co
      end subroutine waitio_group_rank_f
      subroutine waitio_group_size_f(co,n,ie)
      implicit none
      type(*) :: co
      integer :: n
      integer, optional :: ie
!GCC$ ATTRIBUTES NO_ARG_CHECK :: co
!DEC$ ATTRIBUTES NO_ARG_CHECK :: co
!DIR$ IGNORE_TKR co
!NVF$ IGNORE_TKR co
      end subroutine waitio_group_size_f
      subroutine waitio_pb_rank_f(n,ie)
      implicit none
      integer :: n
      integer, optional :: ie
      end subroutine waitio_pb_rank_f
      subroutine waitio_pb_size_f(n,ie)
      implicit none
      integer :: n
      integer, optional :: ie
      end subroutine waitio_pb_size_f
      end interface
