package responses

import (
	"encoding/json"
	"fmt"
	"testing"
)

// The least recently used are forgotten, by number and by bytes.
func TestStoreIsBounded(t *testing.T) {
	var s Store
	limit := Settings{Keep: 20, Bytes: 1500}
	of := func(key string, bytes int) *Response {
		return &Response{Key: key, Items: []json.RawMessage{make(json.RawMessage, bytes-24)}}
	}
	for i := range 1000 {
		s.Put(of(fmt.Sprint(i), 100), limit)
		s.Get("0")
	}
	if s.order.Len() != 15 || len(s.byKey) != 15 || s.bytes != 1500 || s.Get("0") == nil || s.Get("999") == nil || s.Get("500") != nil {
		t.Errorf("%d responses, %d bytes", s.order.Len(), s.bytes)
	}
	for i := range 100 {
		s.Put(of(fmt.Sprint("small", i), 30), limit)
	}
	if s.order.Len() != 20 || s.bytes > 1500 {
		t.Errorf("%d responses, %d bytes", s.order.Len(), s.bytes)
	}
	s.Put(of("0", 10000), limit)
	if s.order.Len() != 0 || s.bytes != 0 {
		t.Errorf("%d responses, %d bytes", s.order.Len(), s.bytes)
	}
}
