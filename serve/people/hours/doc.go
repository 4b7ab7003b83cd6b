// Package hours knows when a person works: office hours in a time zone, and limits of a day and of a week. It has no clock
// and keeps nothing.
package hours
