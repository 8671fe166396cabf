"""The facades of the server. They lie in a folder of their own: loading an agent folder puts its
parent on Python's path, where folders of these names would hide the SDKs.
"""
