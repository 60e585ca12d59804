import { workflowBundle } from "./bundle.ts";

// Last step of the installation: the program can then start on a read-only file system.
try {
  await workflowBundle();
} catch (error) {
  process.stderr.write(
    `atrium: The workflow code could not be bundled; the first start bundles it: ${(error as Error).message}\n`,
  );
}
