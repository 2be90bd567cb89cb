"""Build, serve, test and measure Napkin: the one script of the project.

python3 build.py            build dist/, the whole site as static files
python3 build.py serve      build it, serve it on this machine and open a browser
python3 build.py test       run every test, type check and lint
python3 build.py bench      measure the figures that the project promises
"""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / ".build"))


def read_arguments(argv: list[str]) -> argparse.Namespace:
    """Read the command line; without a command, build."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command")
    commands.add_parser("build", help="build dist/ (the default)")
    serve = commands.add_parser("serve", help="build, serve on 127.0.0.1 and open a browser")
    serve.add_argument("--port", type=int, default=8000, help="8000, or a free one if it is taken")
    serve.add_argument("--no-open", action="store_true", help="open no browser")
    test = commands.add_parser("test", help="run every test, type check and lint")
    test.add_argument("-k", metavar="EXPRESSION", help="only the Python tests that match")
    commands.add_parser("bench", help="measure loading, latency and memory")
    return parser.parse_args(argv or ["build"])


def main(argv: list[str]) -> int:
    """Do what was asked; a failure says what to do about it."""
    if sys.version_info < (3, 11):  # noqa: UP036  # a user's python3 may well be older
        print("Napkin's build needs Python 3.11 or newer; this is", sys.version.split()[0])
        return 2
    arguments = read_arguments(argv)
    from console import BuildError

    try:
        return run_command(arguments)
    except BuildError as error:
        print(f"\n{error}\n  what to do: {error.remedy}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


def run_command(arguments: argparse.Namespace) -> int:
    """Import only what the command needs: set-up must work before anything is installed."""
    match arguments.command:
        case "serve":
            from serve import serve

            return serve(port=arguments.port, open_browser=not arguments.no_open)
        case "test":
            from stages import run_stages

            return run_stages(expression=arguments.k)
        case "bench":
            from bench import bench

            return bench()
        case _:
            from assemble import build_site

            build_site()
            return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
