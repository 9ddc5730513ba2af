dist_man_MANS = \
	man/gpubind.1 \
	man/gpubind.7 \
	man/gpubind-aware.7 \
	man/gpubind-bench.1 \
	man/gpubind-device.7 \
	man/gpubind-doctor.7 \
	man/gpubind-plot.1 \
	man/gpubind-plugin.7 \
	man/gpubind-port.7 \
	man/gpubind-recipes.7 \
	man/MPI_GPUSend.3 \
	man/gpubind_alloc.3 \
	man/gpubind_cancel.3 \
	man/gpubind_enable_peer_access.3 \
	man/gpubind_error_text.3 \
	man/gpubind_halo_create.3 \
	man/gpubind_init.3 \
	man/gpubind_isend.3 \
	man/gpubind_mprobe.3 \
	man/gpubind_neighbors.3 \
	man/gpubind_paths_print.3 \
	man/gpubind_probe.3 \
	man/gpubind_recv_alloc.3 \
	man/gpubind_send_init.3 \
	man/gpubind_send_on_stream.3 \
	man/gpubind_sendrecv.3 \
	man/gpubind_put_on_stream.3 \
	man/gpubind_ssend.3 \
	man/gpubind_wait.3 \
	man/gpubind_win_allocate.3 \
	$(linked_pages)
# One line each: .so man3/PAGE.3
linked_pages = \
	man/MPI_GPURecv.3 \
	man/MPI_GPURecv_c.3 \
	man/MPI_GPUSend_c.3 \
	man/gpubind_comm_attach.3 \
	man/gpubind_comm_gpus.3 \
	man/gpubind_finalize.3 \
	man/gpubind_free.3 \
	man/gpubind_halo_exchange_on_stream.3 \
	man/gpubind_halo_free.3 \
	man/gpubind_halo_neighbor.3 \
	man/gpubind_halo_place.3 \
	man/gpubind_halo_start.3 \
	man/gpubind_halo_wait.3 \
	man/gpubind_get_on_stream.3 \
	man/gpubind_improbe.3 \
	man/gpubind_imrecv.3 \
	man/gpubind_imrecv_c.3 \
	man/gpubind_iprobe.3 \
	man/gpubind_irecv.3 \
	man/gpubind_irecv_c.3 \
	man/gpubind_irecv_on_stream.3 \
	man/gpubind_isend_c.3 \
	man/gpubind_isend_on_stream.3 \
	man/gpubind_issend.3 \
	man/gpubind_issend_c.3 \
	man/gpubind_mrecv.3 \
	man/gpubind_mrecv_c.3 \
	man/gpubind_peers_clear.3 \
	man/gpubind_peers_print.3 \
	man/gpubind_progress.3 \
	man/gpubind_quiet_on_stream.3 \
	man/gpubind_put_signal_on_stream.3 \
	man/gpubind_rank_at.3 \
	man/gpubind_recv_init.3 \
	man/gpubind_recv_init_c.3 \
	man/gpubind_recv_on_stream.3 \
	man/gpubind_release.3 \
	man/gpubind_request_free.3 \
	man/gpubind_request_get_status.3 \
	man/gpubind_send_init_c.3 \
	man/gpubind_sendrecv_c.3 \
	man/gpubind_sendrecv_replace.3 \
	man/gpubind_sendrecv_replace_c.3 \
	man/gpubind_ssend_c.3 \
	man/gpubind_start.3 \
	man/gpubind_startall.3 \
	man/gpubind_startall_on_stream.3 \
	man/gpubind_signal_on_stream.3 \
	man/gpubind_test.3 \
	man/gpubind_testall.3 \
	man/gpubind_testany.3 \
	man/gpubind_testsome.3 \
	man/gpubind_waitall.3 \
	man/gpubind_wait_signal_on_stream.3 \
	man/gpubind_waitany.3 \
	man/gpubind_waitsome.3 \
	man/gpubind_win_device.3 \
	man/gpubind_win_free.3 \
	man/gpubind_win_pointer.3
# The pictures in README.md; draw-bench draws its own again, from recorded results.
bench_pictures = man/pt2pt.svg man/put.svg man/report-2-h200.svg
draw-bench: bench/plot/gpubind-plot
	cd $(srcdir)/man && plot='$(abs_builddir)/bench/plot/gpubind-plot' && \
	"$$plot" pt2pt.json -o pt2pt.svg && \
	"$$plot" report-2-h200.json -o report-2-h200.svg && \
	"$$plot" report-2-h200.json -o put.svg --title 'put and get between two H200' \
		--only put-warp,put-block,get-warp,get-block
.PHONY: draw-bench
EXTRA_DIST += man/jacobi.svg man/placement.svg man/plan.svg man/timeline.svg
EXTRA_DIST += $(bench_pictures) man/pt2pt.json man/report-2-h200.json
