"""The receiver: OTLP over HTTP and gRPC into the spool of a library.

``otlp`` holds the protocol's words, ``check`` looks into a request, ``spool`` makes it durable, ``intake`` joins them;
``http`` and ``grpc_server`` are the doors, ``guard`` stands before them. ``ingest`` has closed spool files taken into
the library by ``worker``, a process of its own. ``listener`` holds it all together.
"""
