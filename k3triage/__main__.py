"""`python -m k3triage`."""

from k3triage.cli.main import run

if __name__ == "__main__":
    run()
