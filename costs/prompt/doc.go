// Package prompt writes prompts by templates of Go's text/template. It checks a template before it is used: names that do
// not exist, fields that fail and prompts that are empty are errors with their line.
package prompt
