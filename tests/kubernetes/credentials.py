"""Keys, certificates and tokens of one cluster, made when it starts and gone with it."""

import dataclasses
import datetime
import ipaddress
import secrets

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

PEM = serialization.Encoding.PEM


@dataclasses.dataclass
class Credentials:
    authority: str  # PEM, as all others
    certificate: str
    key: str
    account_key: str  # signs the tokens of service accounts
    account_public_key: str
    tokens: dict  # of each user, by name


def private_pem(key):
    return key.private_bytes(PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()).decode()


def issue(subject, key, issuer, issuer_key, *extensions):
    now = datetime.datetime.utcnow()
    builder = x509.CertificateBuilder().subject_name(subject).issuer_name(issuer).public_key(key.public_key())
    builder = builder.serial_number(x509.random_serial_number())
    builder = builder.not_valid_before(now - datetime.timedelta(hours=1)).not_valid_after(now + datetime.timedelta(days=7))
    for extension in extensions:
        builder = builder.add_extension(extension, critical=isinstance(extension, x509.BasicConstraints))
    return builder.sign(issuer_key, hashes.SHA256())


def name(text):
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def make(addresses, names, users):
    authority_key, key, account_key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(3))
    authority = issue(name("rig"), authority_key, name("rig"), authority_key, x509.BasicConstraints(ca=True, path_length=0),
                      x509.SubjectKeyIdentifier.from_public_key(authority_key.public_key()))
    alternatives = [x509.IPAddress(ipaddress.ip_address(one)) for one in addresses] + [x509.DNSName(one) for one in names]
    certificate = issue(name("kube-apiserver"), key, name("rig"), authority_key, x509.SubjectAlternativeName(alternatives),
                        x509.AuthorityKeyIdentifier.from_issuer_public_key(authority_key.public_key()))
    public = account_key.public_key().public_bytes(PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    return Credentials(authority.public_bytes(PEM).decode(), certificate.public_bytes(PEM).decode(), private_pem(key), private_pem(account_key),
                       public.decode(), {user: secrets.token_hex(16) for user in users})
