// Package people lets people answer: experts of a policy whose answers come from persons with hours and skills. Items wait in a
// durable queue. Persons list and claim them, answer or give them back, over HTTP or on a page of the server. The work that waits
// is a price of the pairs of such an expert, so that a policy sends people what they help with most. Hours are a hard stop: a claim
// ends before the hours of its person do.
package people
