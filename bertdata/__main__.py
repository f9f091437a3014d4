"""`python -m bertdata`, or `bertdata`: the command line, which handles signals before it loads anything."""

import signal
import sys

from .errors import BertDataError
from .storage.problems import storage_errors
from .storage.signals import HANDLED_SIGNALS, signals


def main() -> None:
    """Run the command line in a separate process."""
    try:
        with storage_errors(), signals():
            from .cli import main as run

            run()
    except BertDataError as error:  # before the command line was there, which prints its own
        print(f"bertdata: error: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
    except KeyboardInterrupt as stopped:
        sys.exit(*stopped.args)
    finally:  # while Python ends, a signal has no handler that could still run: it ends the process
        for number in HANDLED_SIGNALS:
            if signal.getsignal(number) != signal.SIG_IGN:
                signal.signal(number, signal.SIG_DFL)


if __name__ == "__main__":
    main()
