// Router is an HTTP server that chooses which expert should answer a string, and with which advice.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"

	"pipe/pipeline/decide"
)

func main() {
	if len(os.Args) != 3 {
		log.Fatal("usage: router POLICY ENCODER")
	}
	r, err := decide.Open(context.Background(), os.Args[1], decide.Options{Encoder: os.Args[2]})
	if err != nil {
		log.Fatal(err)
	}
	defer r.Close()
	http.HandleFunc("POST /decide", func(w http.ResponseWriter, req *http.Request) {
		var in struct{ Text string }
		if err := json.NewDecoder(http.MaxBytesReader(w, req.Body, 1<<20)).Decode(&in); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		d, err := r.Text(req.Context(), in.Text)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		_ = json.NewEncoder(w).Encode(map[string]string{"expert": d.Expert, "advice": d.Advice}) // the client has left
	})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("http://" + l.Addr().String())
	log.Fatal(http.Serve(l, nil))
}
