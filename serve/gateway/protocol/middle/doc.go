// Package middle is the form between two protocols of models: a request, an answer, and the events of a streamed answer. A
// request of one protocol is read into it and written as another one; so are answers, in the other direction.
//
// What has no place in it is not forgotten: readers list it by the name of its field, and whoever translates refuses it.
package middle
