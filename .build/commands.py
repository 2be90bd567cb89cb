"""The commands of build.py."""

import argparse
import sys

from console import BuildError
from diagnosis import file_systems_remedy


def read_arguments(argv: list[str], usage: str) -> argparse.Namespace:
    """Read the command line; without a command, build."""
    parser = argparse.ArgumentParser(
        description=usage, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command")
    commands.add_parser("build", help="build dist/ (the default)")
    serve = commands.add_parser("serve", help="build, serve on 127.0.0.1 and open a browser")
    serve.add_argument("--port", type=int, default=8000, help="8000, or a free one if it is taken")
    serve.add_argument("--no-open", action="store_true", help="open no browser")
    test = commands.add_parser("test", help="run every test, type check and lint")
    test.add_argument("-k", metavar="EXPRESSION", help="only the Python tests that match")
    commands.add_parser("bench", help="measure loading, latency and memory")
    accuracy = commands.add_parser("accuracy", help="hold the figures against public runs")
    accuracy.add_argument(
        "--learn", action="store_true", help="only learn the constants anew from these runs"
    )
    accuracy.add_argument(
        "--baseline",
        action="store_true",
        help="take what is reached as what the tests hold later figures against",
    )
    return parser.parse_args(argv or ["build"])


def main(argv: list[str], usage: str) -> int:
    """Do what was asked; a failure says what to do about it."""
    arguments = read_arguments(argv, usage)
    try:
        return run_command(arguments)
    except BuildError as error:
        return failed(error, error.remedy)
    except OSError as error:
        return failed(error, file_systems_remedy(error))
    except KeyboardInterrupt:
        return 130


def failed(error: Exception, remedy: str) -> int:
    """Say what failed and what to do about it; return the script's code."""
    print(f"\n{error}\n  what to do: {remedy}", file=sys.stderr)
    return 1


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
        case "accuracy":
            from accuracy import accuracy

            return accuracy(learn_anew=arguments.learn, set_baseline=arguments.baseline)
        case _:
            from assemble import build_site

            build_site()
            return 0
