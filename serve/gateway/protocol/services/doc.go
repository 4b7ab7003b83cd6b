// Package services has the protocols that experts speak and callers do not: how requests are written and answers read. They
// use the middle form alone.
package services
