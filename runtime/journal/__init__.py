"""The journal, the one matcher and the replay session."""

from ._journal import AnyRequest, Journal, JournalEntry, JournalKind

__all__ = ["AnyRequest", "Journal", "JournalEntry", "JournalKind"]
