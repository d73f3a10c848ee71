"""What windows read of the memory: figures per day, conversations, entries and their neighbours, calls, health."""
