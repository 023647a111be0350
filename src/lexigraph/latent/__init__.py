"""The geometry of sentence spaces, and the files of the pictures that sentences become."""
