// The library's dependency injection needs this first; modules are evaluated in the order of these lines.
import "reflect-metadata";

export * from "@peculiar/x509";
