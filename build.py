"""Build, serve, test and measure Napkin: the one script of the project.

python3 build.py            build dist/, the whole site as static files
python3 build.py serve      build it, serve it on this machine and open a browser
python3 build.py test       run every test, type check and lint
python3 build.py bench      measure the figures that the project promises
python3 build.py accuracy   hold the predicted figures against public runs of real servers
"""

import sys
from pathlib import Path

if sys.version_info < (3, 11):  # noqa: UP036  # a user's python3 may well be older
    sys.exit("Napkin's build needs Python 3.11 or newer; this is " + sys.version.split()[0])

sys.path.insert(0, str(Path(__file__).parent / ".build"))

from commands import main  # only now can it be found, and read

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], __doc__))
