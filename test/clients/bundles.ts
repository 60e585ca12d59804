import { gzipSync } from "node:zlib";
import { build } from "esbuild";

/** A program for browsers in one file. */
export interface Bundle {
  text: string;
  gzipBytes: number;
}

/**
 * Bundles a program for browsers.
 * @param folder where the packed client is installed
 * @throws Error when something is left outside the bundle
 */
export async function bundleOf(folder: string, name: string, source: string): Promise<Bundle> {
  const { outputFiles, metafile } = await build({
    stdin: { contents: source, resolveDir: folder, sourcefile: name },
    bundle: true,
    minify: true,
    format: "esm",
    platform: "browser",
    target: "es2022",
    write: false,
    metafile: true,
  });
  const outside = Object.values(metafile.inputs).flatMap(({ imports }) => imports.filter(({ external }) => external));
  if (outside.length > 0) throw new Error(`${name} still imports ${outside.map(({ path }) => path).join(", ")}`);
  const text = outputFiles[0]?.text ?? "";
  return { text, gzipBytes: gzipSync(text).length };
}

/** What a page loads that only signs in. */
export const signInBundle = (folder: string): Promise<Bundle> =>
  bundleOf(
    folder,
    "sign-in.js",
    `import { createAtriumTransport, createClient, session } from "@atrium/client";
     import { LoginService } from "@atrium/client/login";
     const credential = session();
     globalThis.login = createClient(LoginService, createAtriumTransport({ baseUrl: "", credential })).login;`,
  );

/** What a page loads that calls every area. */
export const everyAreaBundle = (folder: string): Promise<Bundle> =>
  bundleOf(folder, "every-area.js", `export * from "@atrium/client";`);
