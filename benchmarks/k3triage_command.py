"""What the installed `k3triage` script runs."""

from k3triage.cli.main import run

if __name__ == "__main__":
    run()
