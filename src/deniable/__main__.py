"""``python -m deniable``: the command line, where ``deniable`` is not on the path."""

from deniable.cli import main

if __name__ == "__main__":
    main()
