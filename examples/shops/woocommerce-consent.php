<?php
/**
 * Plugin Name: Signalbox consent
 * Description: Notes on each order what the customer chose about advertising.
 * Requires Plugins: woocommerce, wp-consent-api
 */

// The classic checkout, and the checkout block.
add_action( 'woocommerce_checkout_create_order', 'signalbox_note_consent' );
add_action( 'woocommerce_store_api_checkout_update_order_meta', 'signalbox_note_consent' );

function signalbox_note_consent( $order ) {
	if ( ! function_exists( 'wp_has_consent' ) ) {
		return;
	}
	$is_granted = wp_has_consent( 'marketing' );
	$order->update_meta_data( '_signalbox_consent', $is_granted ? 'granted' : 'denied' );
	$order->update_meta_data( '_signalbox_consent_at', gmdate( 'Y-m-d\TH:i:s\Z' ) );
	if ( ! $is_granted ) {
		return;
	}
	foreach ( array( 'fbp', 'fbc' ) as $name ) {
		if ( isset( $_COOKIE[ "_$name" ] ) ) {
			$cookie = sanitize_text_field( wp_unslash( $_COOKIE[ "_$name" ] ) );
			$order->update_meta_data( "_signalbox_$name", $cookie );
		}
	}
}
