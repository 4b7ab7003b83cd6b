// The command constant is an HTTP server that reads a request and answers {} whatever it was. It shows what Go's HTTP server
// and the network of a machine take by themselves, beside which the figures of servers that compute are read.
//
//	constant 127.0.0.1:9000
package main

import (
	"io"
	"log"
	"net/http"
	"os"
	"time"
)

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: constant ADDRESS")
	}
	s := &http.Server{Addr: os.Args[1], ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(answer)}
	log.Fatal(s.ListenAndServe())
}

func answer(w http.ResponseWriter, r *http.Request) {
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		return // the client is gone
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, "{}") // as above
}
