# SPDX-License-Identifier: BSD-3-Clause
"""Arrays in device memory for the programs of test_device.py, made with CUDA's driver or with
tests/fakecuda, which stands in for it."""

import ctypes
import weakref

import numpy as np

cuda = ctypes.CDLL("libcuda.so.1")
FAKE = hasattr(cuda, "fake_cuda")
LEGACY, PER_THREAD = 1, 2
Address = ctypes.c_uint64


def call(name, *words):
    """Call the driver, which must succeed."""
    code = getattr(cuda, name)(*words)
    assert code == 0, f"{name}: {code}"


call("cuInit", 0)


def calls(name):
    """How often the driver was called so; only what stands in for it tells."""
    cuda.fake_calls.restype = ctypes.c_long
    return cuda.fake_calls(name.encode())


def fill_on(stream, array, value):
    """A kernel on a stream, not over yet: all bytes of the array become `value`."""
    words = ctypes.c_ubyte(value), ctypes.c_size_t(array.nbytes), Address(stream)
    with Device(array.device):
        call("cuMemsetD8Async", Address(array.address), *words)


def new_stream():
    """Handle of a stream that does not wait for the default one."""
    made = Address()
    with Device(0):
        call("cuStreamCreate", ctypes.byref(made), 1)
    return made.value


def wait_for(stream):
    """Wait until the work of a stream is over."""
    with Device(0):
        call("cuStreamSynchronize", Address(stream))


class Device:
    """Inside, the primary context of a device is current."""

    contexts = {}

    def __init__(self, number):
        self.number = number

    def __enter__(self):
        if self.number not in self.contexts:  # held for good: memory goes with its context
            context = self.contexts[self.number] = ctypes.c_void_p()
            call("cuDevicePrimaryCtxRetain", ctypes.byref(context), self.number)
        call("cuCtxPushCurrent_v2", self.contexts[self.number])

    def __exit__(self, *exc):
        call("cuCtxPopCurrent_v2", ctypes.byref(ctypes.c_void_p()))


def _free(address, device):
    with Device(device):
        call("cuMemFree_v2", Address(address))


class Memory:
    """A copy of a NumPy array on a device, which it leaves when nobody holds this any more."""

    def __init__(self, host, device=0):
        host = np.asarray(host)
        self.device, self.shape, self.dtype = device, host.shape, host.dtype
        self.order = "F" if host.flags.f_contiguous and not host.flags.c_contiguous else "C"
        self.nbytes, self.address = host.nbytes, 0
        if host.nbytes:
            made = Address()
            with Device(device):
                call("cuMemAlloc_v2", ctypes.byref(made), ctypes.c_size_t(host.nbytes))
            self.address = made.value
            weakref.finalize(self, _free, self.address, device).atexit = False
            self.set(host)

    def set(self, host):
        """Replace the contents, at once."""
        data = np.asarray(host, self.dtype).tobytes(self.order)
        with Device(self.device):
            call("cuMemcpyHtoD_v2", Address(self.address), data, ctypes.c_size_t(self.nbytes))
            call("cuStreamSynchronize", Address(LEGACY))

    def get(self):
        """The contents as they are now, without waiting for any work (a true driver may wait)."""
        data = ctypes.create_string_buffer(max(1, self.nbytes))
        read = "fake_peek" if FAKE else "cuMemcpyDtoH_v2"
        if self.nbytes:
            with Device(self.device):
                call(read, data, Address(self.address), ctypes.c_size_t(self.nbytes))
        flat = np.frombuffer(data.raw[: self.nbytes], self.dtype)
        return flat.reshape(self.shape, order=self.order)

    def strides(self):
        """In bytes, for arrays in Fortran's order; None in C's."""
        return None if self.order == "C" else np.empty(self.shape, self.dtype, "F").strides


class Cuda(Memory):
    """With CUDA's array interface, as arrays of Numba and CuPy; `changes` are made to it."""

    def __init__(self, host, device=0, **changes):
        super().__init__(host, device)
        self.changes = changes

    @property
    def __cuda_array_interface__(self):
        interface = {
            "shape": self.shape,
            "typestr": self.dtype.str,
            "data": (self.address, False),
            "version": 3,
            "strides": self.strides(),
            **self.changes,
        }
        return {name: value for name, value in interface.items() if value is not Ellipsis}


class _Tensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_uint64),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


class _Versioned(ctypes.Structure):
    _fields_ = (
        ("version", ctypes.c_uint32 * 2),
        ("manager", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", _Tensor),
    )


_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype = ctypes.py_object
_new_capsule.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
_KINDS = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}
_held = []  # what capsules point to: longer than they live


class Tensor(Memory):
    """With DLPack, as tensors of PyTorch: of the old form, or `versioned`.

    Its work is done on `stream`; a consumer that names its own waits for that.
    """

    made = 0  # capsules

    def __init__(self, host, device=0, stream=None, versioned=False, **changes):
        super().__init__(host, device)
        self.stream, self.versioned, self.changes = stream, versioned, changes

    def __dlpack_device__(self):
        return (self.changes.get("device_type", 2), self.device)

    def _fields(self):
        items = ctypes.c_int64 * len(self.shape)
        strides = self.strides()
        fields = dict(data=self.address, device_type=2, device_id=self.device)
        fields.update(ndim=len(self.shape), code=_KINDS[self.dtype.kind], lanes=1)
        fields.update(bits=8 * self.dtype.itemsize, shape=items(*self.shape), byte_offset=0)
        if strides is not None:
            fields["strides"] = items(*(n // self.dtype.itemsize for n in strides))
        fields.update(self.changes)
        if isinstance(fields.get("strides"), tuple):
            fields["strides"] = items(*fields["strides"])
        flags, version = fields.pop("flags", 0), fields.pop("version", 1)
        return fields, flags, version

    def __dlpack__(self, stream=None, **words):
        if words and not self.versioned:
            raise TypeError(f"unexpected {words}")
        assert stream == LEGACY, f"copies are made on the legacy default stream, not {stream}"
        if self.stream is not None:
            with Device(self.device):
                call("cuStreamSynchronize", Address(self.stream))
        fields, flags, version = self._fields()
        tensor = _Tensor(**fields)
        if self.versioned:
            assert words["max_version"][0] == 1
            tensor = _Versioned(version=(version, 0), flags=flags, tensor=tensor)
        _held.append((tensor, fields))
        Tensor.made += 1
        name = b"dltensor_versioned" if self.versioned else b"dltensor"
        return _new_capsule(ctypes.addressof(tensor), name, cuda.fake_let_go if FAKE else None)

    @classmethod
    def live(cls):
        """Number of capsules that were not let go."""
        return cls.made - calls("fake_let_go") if FAKE else 0
