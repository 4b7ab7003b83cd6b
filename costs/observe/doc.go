// Package observe has the standard facts of an answer: what can be seen of it without knowing the true one. A table of
// outcomes and a service that decides take them from here, so that a policy sees the same facts of the same answer.
package observe
