// Package config reads configuration files in YAML: variables from the environment, paths that start from the folder of
// the file, and every problem of a file at once, in plain words and with the line. It knows no section of any file.
package config
