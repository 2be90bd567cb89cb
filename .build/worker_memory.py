"""What the core's worker holds: Python's objects and blocks, and the memory of WebAssembly."""

from dataclasses import dataclass

from playwright.sync_api import Worker

READ = """
() => {
  const count = (expression) => self.python.runPython(`import gc, sys; gc.collect(); ${expression}`);
  return {
    num_objects: count("len(gc.get_objects())"),
    num_blocks: count("sys.getallocatedblocks()"),
    heap_bytes: self.python._module.HEAP8.length,
  };
}
"""


@dataclass(frozen=True)
class Memory:
    """A worker's memory at one moment."""

    num_objects: int
    num_blocks: int
    heap_bytes: int


def memory_of(worker: Worker) -> Memory:
    """Count after a collection; twice, since the first counting imports what it needs."""
    worker.evaluate(READ)
    return Memory(**worker.evaluate(READ))
