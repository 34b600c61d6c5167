"""A fresh file with txbox's tables, opened with Python's own sqlite3 as an application would."""
import os
import sqlite3
import subprocess
import sys
import tempfile
import unittest

INSTALL = sys.argv.pop(1)


class BoxesTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="txbox-contract-")
        self.path = os.path.join(self.folder.name, "app.db")
        subprocess.run([INSTALL, self.path], check=True)
        self.db = self.connect()
        self.db.execute("CREATE TABLE business(x)")

    def tearDown(self):
        self.db.close()
        self.folder.cleanup()

    def connect(self):
        db = sqlite3.connect(self.path, isolation_level=None)
        db.text_factory = bytes
        return db

    def text(self, sql, *values):
        value = self.db.execute(sql, values).fetchone()[0]
        return value.decode() if isinstance(value, bytes) else value

    def count(self, table):
        return self.text(f"SELECT count(*) FROM {table}")
