"""The command `regard`, also as `python -m regard`: Ctrl-C while it is loaded ends it at once.

Python would say where in the imports it was. Later ones are cli/main.py's.
"""

import signal


def main() -> None:
    """Load the commands, then run the one that is asked for."""
    usual = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if usual:  # not where whoever began this process has it passed over
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from regard.cli.main import main as run  # here: under that handler

    if usual:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    run()


if __name__ == "__main__":
    main()
