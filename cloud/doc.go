// Package cloud registers the object stores of Amazon (s3://), Google (gs://) and Azure (azblob://) for paths, by the
// drivers of gocloud.dev/blob. A program imports it for this effect. Nothing is opened, and no credentials are looked
// for, before a URL is used.
//
// The drivers repeat requests themselves, so that one failed part does not restart a long upload. They must not do so
// for an object that is written IfNotExist: a repeated request cannot tell its own object from that of another writer.
// Those go through clients that try once, and package storage repeats them.
package cloud
