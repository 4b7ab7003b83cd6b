// Package findings turns an evaluation into answers: what to deploy and what that saves, where it helps and harms, which
// rows show it, and whether more training rows would help. Package report holds and prints them.
package findings
