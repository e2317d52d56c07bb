"""Which medium tells a case, and to whom?"""
