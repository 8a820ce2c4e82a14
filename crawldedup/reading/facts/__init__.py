"""Find the facts that tell pages apart although they read alike, such as the attributes of
products.
"""
