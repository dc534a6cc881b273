"""Holds the first thread of a process while its others go on, as a file system that hangs would."""
import ctypes
import os

SEIZE, INTERRUPT, DETACH = 0x4206, 0x4207, 17  # of ptrace(2)
ALL_THREADS = 0x40000000                       # __WALL of waitpid(2)


class HeldThread:
    def __init__(self, pid):
        self.pid = pid
        self.trace = ctypes.CDLL(None, use_errno=True).ptrace
        self.trace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
        self.trace.restype = ctypes.c_long
        self.ask(SEIZE)
        self.ask(INTERRUPT)
        os.waitpid(pid, ALL_THREADS)

    def ask(self, request):
        if self.trace(request, self.pid, None, None) != 0:
            raise OSError(ctypes.get_errno(), "ptrace")

    def release(self):
        self.ask(DETACH)
