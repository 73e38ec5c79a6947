# SPDX-License-Identifier: BSD-3-Clause
"""Persistent and synchronous operations, waiting for some; loading twice; data loaders."""

import sys

import pytest


def test_persistent_operations(universe):
    universe.passes("""
        other, out, into = 1 - me, np.zeros(5), np.zeros(5)
        requests = [world.Send_init(out, other, 1), world.Recv_init(into, other, 1)]
        assert "inactive" in repr(requests[0]) and "persistent receive" in repr(requests[1])
        assert waitio.waitall(requests)  # at rest: over at once
        for i in range(50):
            out[:] = 100 * me + i
            waitio.startall(requests)
            if i == 0:
                for call, kind in ((requests[1].Start, waitio.BusyError),
                                   (requests[1].Free, waitio.BusyError)):
                    try:
                        call()
                    except kind as error:
                        assert "under way" in str(error)
                    else:
                        raise SystemExit("an active one was started or freed")
            waitio.waitall(requests)
            assert (into == 100 * other + i).all(), (i, into)
        requests[1].Start()
        requests[1].cancel()
        assert requests[1].wait().cancelled
        world.Barrier()  # the other's next message may come now
        import weakref
        class Room(bytearray):
            pass
        room = Room(8)
        watch = weakref.ref(room)
        spare = world.Recv_init(room, other, 7)
        del room
        gc.collect()
        assert watch() is not None  # it holds its buffer between rounds
        spare.Free()
        spare.Free()
        assert watch() is None
        for call in (spare.Start, world.Irecv(bytearray(1), other, 9).Start):
            try:
                call()
            except waitio.RequestError as error:
                assert "Send_init" in str(error)
            else:
                raise SystemExit("started")
        async def main():
            for request in requests:
                request.Start()
            for request in requests:
                await request
        asyncio.run(main())
        # Dropped under way: the send arrives, the receive is withdrawn.
        world.Recv_init(bytearray(8), other, 4).Start()
        waitio.startall([world.Send_init(np.full(100_000, 7.0), other, 3)])
        gc.collect()
        whole = np.zeros(100_000)
        world.Recv(whole, other, 3)
        assert (whole == 7).all()
        world.Send(b"later", other, 4)
        late = bytearray(5)
        world.Recv(late, other, 4)
        assert late == b"later"
        failing = world.Recv_init(bytearray(1), other, 5)
        failing.Start()
        world.Send(b"too long", other, 5)
        try:
            failing.wait()
        except waitio.TruncateError:
            pass
        else:
            raise SystemExit("no error")
        failing.Start()  # the failure was that round's
        world.Send(b"!", other, 5)
        assert failing.wait().count == 1
        waitio.finalize()
        assert requests[0].wait() is not None
    """)


def test_synchronous_sends(universe):
    universe.passes("""
        if me == 0:
            request = world.Issend(b"small", 1, 1)
            again = world.Ssend_init(b"again", 1, 2)
            again.Start()
            world.Send(b"", 1, 9)
            world.Recv(bytearray(0), 1, 9)
            time.sleep(0.05)
            assert not request.test()[0] and not again.test()[0]  # nobody has received
            world.Send(b"", 1, 9)
            world.Ssend(b"last", 1, 3)
            waitio.waitall([request, again])
        else:
            world.Recv(bytearray(0), 0, 9)
            world.Send(b"", 0, 9)
            world.Recv(bytearray(0), 0, 9)
            for tag in (1, 2, 3):
                world.Recv(bytearray(5), 0, tag)
    """)


def test_waiting_for_some(universe):
    universe.passes("""
        if me == 0:
            for tag in (2, 0):
                world.Send(b"12345678", 1, tag)
            world.Recv(bytearray(0), 1, 9)
            world.send("object", 1, 1)
            world.Send(b"too long", 1, 3)
        else:
            room = [bytearray(8), bytearray(1), bytearray(8), bytearray(2)]
            requests = [world.Irecv(room[0], 0, 0), world.irecv(0, 1), world.Irecv(room[2], 0, 2),
                        world.Irecv(room[3], 0, 3), None]
            seen = set()
            while len(seen) < 2:
                indices, results = waitio.waitsome(requests, timeout=30)
                assert indices and [r.tag for r in results] == indices
                seen |= set(indices)
            assert seen == {0, 2} and waitio.testsome(requests) == ([], [])
            try:
                waitio.waitsome(requests, timeout=0.05)
            except waitio.TimeoutError:
                pass
            else:
                raise SystemExit("no timeout")
            world.Send(b"", 0, 9)
            while not requests[1].done:
                try:
                    waitio.waitsome(requests)
                except waitio.TruncateError:
                    assert requests[3].done
            if not requests[3].done:
                try:
                    waitio.waitsome(requests)
                except waitio.TruncateError:
                    pass
                else:
                    raise SystemExit("no error")
            assert requests[1].wait() == "object"
            assert waitio.waitsome(requests) == waitio.testsome([]) == (None, None)
    """)


def test_a_data_loader_that_forks(universe):
    """Workers load and send back through pipes while the parent communicates; no worker hangs,
    also when it ends by itself or is killed."""
    universe.passes("""
        import multiprocessing, warnings
        warnings.simplefilter("ignore")
        context = multiprocessing.get_context("fork")

        class Data:
            def __init__(self, world):
                self.world, self.pending = world, world.Irecv(bytearray(8), 1 - me, 77)
            def __getitem__(self, i):
                if i == 13:
                    try:
                        self.world.Send(b"x", 1 - me)
                    except waitio.ForkError as error:
                        return str(error)
                    return "it was sent"
                return np.full(1000, float(i))

        data = Data(world)
        def load(i):
            return data[i]
        with context.Pool(2) as pool:
            coming = pool.imap(load, range(20))
            for i, item in enumerate(coming):
                other = np.zeros(1000)
                if i == 13:
                    assert "spawn" in item, item
                    continue
                world.Sendrecv(item, 1 - me, i, other, 1 - me, i)
                assert (other == i).all()
        killed = context.Process(target=time.sleep, args=(100,))
        killed.start()
        killed.kill()
        killed.join(10)
        data.pending.cancel()
        assert data.pending.wait().cancelled
        world.Barrier()  # who leaves earlier fails the other's receive
    """)


def test_what_cannot_leave_the_process(alone):
    alone.passes(
        """
        import copy, pickle
        for thing in (world, world.Irecv(bytearray(1), 0)):
            for call in (pickle.dumps, copy.copy):
                try:
                    call(thing)
                except TypeError as error:
                    assert "belongs to this process" in str(error), error
                else:
                    raise SystemExit(f"{thing} was pickled")
        for thing in (waitio.SUM, waitio.DOUBLE, waitio.IN_PLACE):
            assert pickle.loads(pickle.dumps(thing)) is thing
        """,
        blocks=[1],
    )


def test_torch_data_loader_and_tensors(alone):
    pytest.importorskip("torch")
    alone.passes(
        """
        import warnings
        warnings.simplefilter("ignore")
        import torch
        from torch.utils.data import DataLoader, Dataset
        class Numbers(Dataset):
            def __len__(self): return 8
            def __getitem__(self, i): return torch.full((4,), float(i))
        total = torch.zeros(4)
        for batch in DataLoader(Numbers(), batch_size=2, num_workers=2):
            request = world.Irecv(into := torch.zeros(2, 4), 0)
            world.Send(batch, 0)
            request.wait()
            assert torch.equal(into, batch)
        world.Allreduce(torch.ones(4), total)
        assert total.tolist() == [1.0] * 4
        for bad, words in ((torch.zeros(4, 4)[:, ::2], "strides"),
                           (torch.zeros(2, requires_grad=True), "grad")):
            try:
                world.Send(bad, 0)
            except waitio.BufferError as error:
                assert words in str(error), error
            else:
                raise SystemExit("it was sent")
        """,
        blocks=[1],
    )


def test_another_interpreter_of_the_process_is_refused(site, helpers):
    """One process is one member: the extension cannot be loaded by a second interpreter."""
    code = """
import waitio
waitio.Group
try:
    import _xxsubinterpreters as inter
except ImportError:
    import _interpreters as inter
other = inter.create()
text = '''
import waitio
try:
    waitio.Group
except ImportError as error:
    print("refused:", error)
else:
    print("loaded twice")
'''
(inter.run_string if hasattr(inter, "run_string") else inter.exec)(other, text)
"""
    pytest.importorskip("_xxsubinterpreters")
    out = helpers.command(sys.executable, "-c", code, env={"PYTHONPATH": str(site), "HOME": "/"})
    assert "refused:" in out and "interpreter" in out, out
