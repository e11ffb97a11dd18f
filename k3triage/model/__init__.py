"""What the stages hand to each other: vocabularies, records, events and the report. Imports nothing of k3triage."""
