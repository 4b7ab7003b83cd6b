// Package config reads configuration files in YAML. It expands environment variables, resolves paths relative to the
// folder of the file, and reports all problems of a file at once, in plain words and with line numbers. It does not
// depend on the sections of any particular file.
package config
