// Package demo is the stage demo: an invented log, and every step from it to a verdict.
package demo
