"""Forms in which a case is handed over. One module a form; none knows another."""
