// Package queue keeps items that wait for people: who has claimed one until when, what was answered, and how much time people
// have used. Every change is on disk before it is made, in a journal of lines that is now and then replaced by a shorter
// one, so that a kill loses nothing. It knows nothing of hours, skills and prices.
package queue
