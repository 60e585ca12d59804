import "reflect-metadata";
import * as x509 from "@peculiar/x509";

/** A key, a certificate for `name`, and the authority that signed it, PEM. */
export async function makeIdentity(name: string): Promise<{ key: string; cert: string; ca: string }> {
  const algorithm = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };
  const pair = () => crypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);
  const [authority, leaf] = await Promise.all([pair(), pair()]);
  const notBefore = new Date(Date.now() - 3_600_000);
  const notAfter = new Date(Date.now() + 3_600_000);
  const ca = await x509.X509CertificateGenerator.createSelfSigned({
    name: "CN=Test CA",
    keys: authority,
    notBefore,
    notAfter,
    signingAlgorithm: algorithm,
    extensions: [
      new x509.BasicConstraintsExtension(true, 0, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign, true),
    ],
  });
  const cert = await x509.X509CertificateGenerator.create({
    subject: `CN=${name}`,
    issuer: ca.subject,
    publicKey: leaf.publicKey,
    signingKey: authority.privateKey,
    notBefore,
    notAfter,
    signingAlgorithm: algorithm,
    extensions: [new x509.SubjectAlternativeNameExtension([{ type: "dns", value: name }])],
  });
  const der = Buffer.from(await crypto.subtle.exportKey("pkcs8", leaf.privateKey)).toString("base64");
  const key = `-----BEGIN PRIVATE KEY-----\n${der.replaceAll(/(.{64})/g, "$1\n")}\n-----END PRIVATE KEY-----\n`;
  return { key, cert: cert.toString("pem"), ca: ca.toString("pem") };
}
