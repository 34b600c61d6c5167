"""A real Kafka that speaks SASL PLAIN, TLS and mTLS beside its plain listener, with certificates made for one test."""

import os
import subprocess

from support.kafka import Cluster, free_port_block

USER, PASSWORD = "shop", "shop-secret"
KEY_PASSWORD = "key-secret"
LISTENERS = ("sasl", "tls", "mtls", "sasl_tls")


class Certificates:
    """An authority with a broker and a client that it signed, and an authority that nobody knows. PEM files."""

    def __init__(self, folder):
        self.folder = folder
        folder.mkdir()
        self.authority = self._authority("authority")
        self.stranger = self._authority("stranger")
        self._sign("broker", "subjectAltName=DNS:localhost")
        self._sign("client", "extendedKeyUsage=clientAuth")
        self.client, self.client_key = str(folder / "client.pem"), str(folder / "client.key")
        self.locked_key = str(folder / "locked.key")
        self._openssl("pkey", "-in", self.client_key, "-aes256", "-passout", f"pass:{KEY_PASSWORD}",
                      "-out", self.locked_key)
        self.broker_store = str(folder / "broker-store.pem")
        with open(self.broker_store, "w", encoding="ascii") as store:
            for name in ("broker.key", "broker.pem", "authority.pem"):
                store.write((folder / name).read_text())

    def _openssl(self, *arguments):
        # Certificates of a test may be made while the machine has little to draw from; a home is not wanted for that.
        subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True,
                       env=dict(os.environ, RANDFILE=str(self.folder / "random")))

    def _authority(self, name):
        certificate = self.folder / f"{name}.pem"
        self._openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", f"/CN={name}",
                      "-keyout", self.folder / f"{name}.key", "-out", certificate)
        return str(certificate)

    def _sign(self, name, extension):
        request, extensions = self.folder / f"{name}.csr", self.folder / f"{name}.ext"
        extensions.write_text(extension + "\n")
        self._openssl("req", "-new", "-newkey", "rsa:2048", "-nodes", "-subj", f"/CN={name}",
                      "-keyout", self.folder / f"{name}.key", "-out", request)
        self._openssl("x509", "-req", "-in", request, "-CA", self.authority, "-CAkey", self.folder / "authority.key",
                      "-CAcreateserial", "-days", "2", "-extfile", extensions, "-out", self.folder / f"{name}.pem")


class SecureKafka:
    """`cluster` with its plain listener, and the address of each other listener in `servers`."""

    def __init__(self, folder):
        self.certificates = Certificates(folder)
        port = free_port_block(1, len(LISTENERS))
        self.servers = {name: f"localhost:{port + 2 + at}" for at, name in enumerate(LISTENERS)}
        self.cluster = Cluster(properties=self._properties(port), port=port)

    def __enter__(self):
        self.cluster.__enter__()
        return self

    def __exit__(self, *exception):
        self.cluster.__exit__(*exception)

    def change_password(self, before, after):
        """The broker is killed and comes back with another password of the same user."""
        self.cluster.kill()
        self.cluster.change_properties(lambda text: text.replace(f'"{before}"', f'"{after}"'))
        self.cluster.restart()

    def _properties(self, port):
        plain = f"PLAINTEXT://127.0.0.1:{port}"
        others = ",".join(f"{name.upper()}://{server}" for name, server in self.servers.items())
        login = f'org.apache.kafka.common.security.plain.PlainLoginModule required user_{USER}="{PASSWORD}";'
        lines = [
            f"listeners={plain},CONTROLLER://127.0.0.1:{port + 1},{others}",
            f"advertised.listeners={plain},{others}",
            "listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SASL:SASL_PLAINTEXT,TLS:SSL,"
            "MTLS:SSL,SASL_TLS:SASL_SSL",
            "inter.broker.listener.name=PLAINTEXT",
            "listener.name.mtls.ssl.client.auth=required",
        ]
        for name in ("sasl", "sasl_tls"):
            lines += [f"listener.name.{name}.sasl.enabled.mechanisms=PLAIN",
                      f"listener.name.{name}.plain.sasl.jaas.config={login}"]
        for name in ("tls", "mtls", "sasl_tls"):
            prefix = f"listener.name.{name}.ssl"
            lines += [f"{prefix}.keystore.type=PEM", f"{prefix}.keystore.location={self.certificates.broker_store}",
                      f"{prefix}.truststore.type=PEM", f"{prefix}.truststore.location={self.certificates.authority}"]
        return "\n".join(lines)
