// Package grading uses the graders of costs/grade in a build: as task losses, and with the models that some of them ask.
package grading
