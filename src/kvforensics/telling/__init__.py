"""What is told of a case, to whom, and in which words?"""
