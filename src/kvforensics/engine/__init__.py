"""What do an engine's own logs say about the exposure, and whose data was it?"""
