"""`python -m bertdata`, or `bertdata`: the command line, which heeds signals before it loads anything."""

import signal
import sys

from .io.signals import HEEDED, signals

__all__ = ["main"]


def main() -> None:
    """Run the command line in a process of its own."""
    try:
        with signals():
            from .cli import main as run

            run()
    except KeyboardInterrupt as stopped:
        sys.exit(*stopped.args)
    finally:  # while Python ends, a signal has no handler that could still run: it ends the process
        for number in HEEDED:
            if signal.getsignal(number) != signal.SIG_IGN:
                signal.signal(number, signal.SIG_DFL)


if __name__ == "__main__":
    main()
