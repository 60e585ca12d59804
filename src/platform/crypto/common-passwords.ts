let loading: Promise<ReadonlySet<string>> | undefined;

/** Whether a password is on the bundled list of common ones, whatever its case. The list is loaded at first use. */
export async function isCommonPassword(password: string): Promise<boolean> {
  loading ??= load();
  return (await loading).has(password.normalize("NFKC").toLowerCase());
}

async function load(): Promise<ReadonlySet<string>> {
  const { dictionary } = await import("@zxcvbn-ts/language-common");
  return new Set(dictionary["passwords-common"].map((password) => password.toLowerCase()));
}
